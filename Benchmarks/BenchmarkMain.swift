import CLinux
import Glibc
import KithDocuments

@main
struct BenchmarkMain {
    static let suites = ["store", "blobs", "wire", "rest", "replication"]

    static func main() async {
        do {
            try await run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            fputs("benchmarks: \(error)\n", kith_stderr())
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) async throws {
        setvbuf(kith_stdout(), nil, Int32(_IOLBF), 0)
        if arguments.first == "--node" { return try await NodeChild.run(Array(arguments.dropFirst())) }
        if arguments.first == "--writer" { return try NoticeBenchmark.write(path: arguments[1]) }
        var count = 100_000
        var blobMebibytes = 2_048
        var replication = ReplicationBenchmark.Options()
        var isJSON = false
        var chosen: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--json": isJSON = true
            case "--documents":
                guard let text = rest.popFirst(), let number = Int(text), number > 0 else {
                    throw KithError(.badRequest, "--documents needs a number")
                }
                count = number
            case "--long": replication.makeLong()
            case "--blob-mebibytes":
                guard let text = rest.popFirst(), let number = Int(text), number > 0 else {
                    throw KithError(.badRequest, "--blob-mebibytes needs a number")
                }
                blobMebibytes = number
            case _ where suites.contains(argument): chosen.append(argument)
            default:
                throw KithError(
                    .badRequest, "there is no suite \"\(argument)\"; there are \(suites.joined(separator: ", "))")
            }
        }
        var template = Array("/tmp/kith-benchmarks-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw KithError(.inputOutput, "no temporary folder") }
        let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { remove(folder) }
        let report = BenchmarkReport(isJSON: isJSON)
        report.heading()
        for suite in chosen.isEmpty ? suites : chosen {
            switch suite {
            case "store": try StoreBenchmark.run(report, folder: folder, count: count)
            case "blobs": try await BlobBenchmark.run(report, folder: folder, mebibytes: blobMebibytes)
            case "wire": try WireBenchmark.run(report, count: count)
            case "rest": try RESTBenchmark.run(report, folder: folder, count: count)
            default:
                replication.documents = count
                try ReplicationBenchmark.run(report, folder: folder, options: replication)
            }
        }
    }

    /// Removes a folder of which everything in it is known: files, and folders in folders.
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
}
