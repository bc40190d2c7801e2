import Glibc

/// Tells one content of a file from another without reading it; a file that is not there has a stamp as well.
struct FileStamp: Equatable {
    private var parts: [Int64] = []

    init(of path: String) {
        var info = stat()
        guard stat(path, &info) == 0 else { return }
        parts = [
            Int64(info.st_size), Int64(info.st_mtim.tv_sec), Int64(info.st_mtim.tv_nsec),
            Int64(bitPattern: UInt64(info.st_ino)),
        ]
    }
}
