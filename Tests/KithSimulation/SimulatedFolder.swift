import Glibc

/// A folder for the files of backups, made when it is wanted and removed at the end.
final class SimulatedFolder {
    private var path: String?
    private var count = 0

    /// The path of a file that is not there yet.
    func newPath(_ name: String) throws -> String {
        if path == nil {
            // In memory where the machine has such a place: nothing here has to survive it.
            let parent =
                access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
            var template = Array("\(parent)/kith-simulation.XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else { throw SimulationError("there is no room for a folder in \(parent)") }
            path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        }
        count += 1
        return "\(path ?? "")/\(name)-\(count).kith"
    }

    /// Copies a file as it is.
    func copy(_ source: String) throws -> String {
        let target = try newPath("copy")
        let from = open(source, O_RDONLY | O_CLOEXEC)
        let to = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        defer {
            close(from)
            close(to)
        }
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(from, &piece, piece.count)
            guard from >= 0, to >= 0, count >= 0, count == 0 || write(to, piece, count) == count else {
                throw SimulationError("\(source) cannot be copied to \(target)")
            }
            if count == 0 { return target }
        }
    }

    /// Removes the folder with everything in it.
    func remove() {
        guard let path, let folder = opendir(path) else { return }
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            unlink("\(path)/\(name)")
        }
        closedir(folder)
        rmdir(path)
        self.path = nil
    }
}

/// What keeps a simulation from going on, and is no fault of what it looks at.
struct SimulationError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
