import Glibc
import KithDocuments
import KithNode

/// A folder that goes with the object, with whatever is in it.
final class TemporaryHome {
    let path: String

    init() {
        var template = Array("/tmp/kith-test-XXXXXX".utf8CString)
        precondition(mkdtemp(&template) != nil)
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { Self.remove(path) }

    private static func remove(_ folder: String) {
        guard let directory = opendir(folder) else { return }
        var names: [String] = []
        while let entry = readdir(directory) {
            names.append(
                withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
        }
        closedir(directory)
        for name in names where name != "." && name != ".." {
            let path = folder + "/" + name
            if unlink(path) != 0 { remove(path) }
        }
        rmdir(folder)
    }

    func write(_ text: String, to name: String) {
        let file = fopen(path + "/" + name, "w")
        fputs(text, file)
        fclose(file)
    }

    func mode(_ name: String) -> mode_t {
        var info = stat()
        return stat(path + "/" + name, &info) == 0 ? info.st_mode & 0o777 : 0
    }
}
