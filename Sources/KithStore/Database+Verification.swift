import KithDocuments

extension Database {
    /// Lets the file grow to no more than this many pages, as a full disk would: for tests; 0 takes the bound away.
    ///
    /// - Returns: the pages that the file has.
    @discardableResult
    package func limitPages(_ count: Int) throws -> Int {
        try connection.use { connection in
            _ = try connection.number("PRAGMA max_page_count = \(count == 0 ? 1_073_741_823 : count)")
            return try connection.number("PRAGMA page_count")
        }
    }

    /// Makes every commit fail, or no longer: for tests.
    package func setCommitsFail(_ isOn: Bool) throws {
        try connection.use { $0.setCommitsFail(isOn) }
    }
}
