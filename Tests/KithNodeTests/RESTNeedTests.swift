import KithDocuments
import KithWire
import Testing

@testable import KithNode

@Suite("What a request needs")
struct RESTNeedTests {
    /// As it goes for a request line.
    private func need(_ method: String, _ target: String) throws -> RESTRight {
        let path = try #require(HTTPTarget(target)).segments.filter { !$0.isEmpty }
        let need = RESTNeed(method: method, path: path)
        let isOfDatabase = [.read, .write, .copy, .administer].contains(need.right)
        #expect(isOfDatabase == (need.database?.text == "db"), "\(method) \(target)")
        return need.right
    }

    private static let table = """
        everybody: GET /, HEAD /, GET /_up, GET //_up, GET /_session, POST /_session, DELETE /_session, GET /_uuids
        everybody: GET /db/_session, POST /none/_session
        read: GET /db, HEAD /db, GET /db/, GET /db.orders, GET /db/doc, GET //db//doc, GET /%64b/doc, GET /db/doc/a/b
        read: GET /db/_all_docs, POST /db/_all_docs, GET /db/_changes, POST /db/_changes, POST /db/_find, POST /db/_explain
        read: POST /db/_bulk_get, POST /db/_revs_diff, GET /db/_local/x, GET /db/_design/x, GET /db/_design%2Fx
        read: GET /db.orders/_all_docs, GET /db/_index, GET /db/.., GET /db/%2e%2e/_all_docs
        write: POST /db, POST /db.orders, PUT /db/doc, DELETE /db/doc, PUT /db/doc/att, PUT /db/doc%2Fx
        write: POST /db/_bulk_docs, PUT /db/_local/x, PUT /db/_local%2Fx, POST /db/_conflicts, PUT /db.orders/doc
        copy: COPY /db/doc, COPY /db.orders/doc
        administer: GET /db/_security, PUT /db/_security, PUT /db//_security, PUT /db/%5fsecurity, PUT /db.orders/_security, PUT /db.orders
        administer: PUT /db/_design/x, PUT /db/_design%2Fx, PUT /db/%5Fdesign/x, DELETE /db/_design/x/att, COPY /db/_design/x
        administer: POST /db/_purge, POST /db/_compact, PUT /db/_revs_limit, PUT /db/_settings, POST /db/_index
        administer: DELETE /db/_index/_design/x/json/y
        server: PUT /db, DELETE /db, GET /_all_dbs, POST /_dbs_info, GET /_active_tasks, GET /_kith/status, PUT /_kith/users/x
        server: POST /_replicate, PUT /_replicator/x, GET /_scheduler/docs, GET /_node/_local, GET /_users/x, GET /_up/x
        server: POST /db/_backup, POST /db/_check, POST /db/_sync, GET /db/_explain, GET /db/_refusals, PUT /db/_user/x
        server: GET /db/_security/x, GET /db/_nothing, PATCH /db/doc, get /db/doc, GET /Db, GET /db.Not.a.name.x, OPTIONS /db
        server: POST /, POST /_up, GET /_session/x, GET /_config, GET /db/_config, GET /db/_user, PUT /db/_role/x
        server: GET /db/_blipsync, POST /db/_blipsync, GET /db/_session/x
        """

    @Test("is what the table says, whatever way the path is written; what is in no table needs the node")
    func table() throws {
        for line in Self.table.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            for item in parts[1].split(separator: ",") {
                let words = item.split(separator: " ").map(String.init)
                let right = try need(words[0], words[1])
                #expect("\(right)" == parts[0].trimmingPrefix { $0 == " " }, "\(item)")
            }
        }
    }

    /// The endpoints that the router knows.
    private static let endpoints = """
        _active_tasks _all_dbs _all_docs _auto_purge _backup _blipsync _bulk_docs _bulk_get _changes _check _cluster_setup
        _compact _config _conflicts _dbs_info _db_updates _design _design_docs _digest _ensure_full_commit _explain _find _index
        _kith _local _local_docs _log _membership _metrics _missing_revs _node _purge _refusals _replicate _replicator _reshard
        _restart _revs_diff _revs_limit _role _scheduler _security _session _settings _shards _stats _sync _up _user _users
        _utils _uuids _view_cleanup
        """.split { $0 == " " || $0 == "\n" }.map(String.init)

    @Test("of everything that there is strangers reach four things, and no user reaches what is the node's")
    func walk() throws {
        let methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "COPY", "OPTIONS", "PATCH", "TRACE", "get", "PURGE"]
        var open: Set<String> = []
        for method in methods {
            for endpoint in Self.endpoints {
                for path in [
                    [endpoint], [endpoint, "x"], ["db", endpoint], ["db", endpoint, "x"], ["db.c", endpoint],
                ] {
                    let need = RESTNeed(method: method, path: path)
                    if need.right == .everybody { open.insert(path.filter { $0 != "db" && $0 != "db.c" }.joined()) }
                    // What is of no database is the node's.
                    if path[0] == endpoint { #expect(need.right == .everybody || need.right == .server, "\(path)") }
                }
            }
        }
        #expect(open == ["_session", "_up", "_uuids"])
        for endpoint in ["_kith", "_backup", "_check", "_sync", "_user", "_role", "_config", "_replicate", "_refusals"]
        {
            for method in methods {
                #expect(RESTNeed(method: method, path: ["db", endpoint]).right == .server, "\(endpoint)")
                #expect(RESTNeed(method: method, path: [endpoint]).right == .server, "\(endpoint)")
            }
        }
    }

    @Test("Basic is read as RFC 7617 has it")
    func credentials() {
        #expect(RESTLogins.credentials("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")?.name == "Aladdin")
        #expect(RESTLogins.credentials("basic YTpiOmM=")?.password == Array("b:c".utf8))
        for text in ["", "Basic", "Basic ", "Basic YQ==", "Basic !!", "Bearer YTpi", "Basic /zpi"] {
            #expect(RESTLogins.credentials(text) == nil, "\(text)")
        }
    }
}
