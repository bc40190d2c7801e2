import Glibc
import KithDocuments
import KithNode
import KithTrust

extension HomeAccess {
    /// The homes of this machine.
    static let system = HomeAccess(
        create: { path, name, port, site in
            try NodeName.check(name)
            let home = try NodeHome.create(at: path, name: name, port: port ?? NodeLimits.portDefault, site: site)
            return OpenHome(home).node
        },
        open: { OpenHome(try NodeHome.open(at: $0)) }, exists: { access($0 + "/format", F_OK) == 0 })
}
