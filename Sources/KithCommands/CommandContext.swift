import KithDocuments

/// What a command is given: where to print, and how to reach the node and its home.
final class CommandContext {
    let console: Console
    let environment: [String: String]
    let homes: HomeAccess
    let runner: NodeRunner
    let homePath: String
    let socketPath: String
    /// What `--timeout` says.
    let timeoutMilliseconds: Int?
    private let homeOption: String?
    private var openClient: NodeClient?

    /// - Throws: `UsageError` for a time-out that is none.
    init(
        _ arguments: ParsedArguments, console: Console, environment: [String: String], homes: HomeAccess,
        runner: NodeRunner, defaultHome: String
    ) throws {
        self.console = console
        self.environment = environment
        self.homes = homes
        self.runner = runner
        homeOption = arguments.value("home")
        if let homeOption, homeOption.isEmpty { throw UsageError("--home needs the name of a folder") }
        homePath = homeOption ?? defaultHome
        socketPath = arguments.value("socket") ?? homePath + "/run/kith.sock"
        if let text = arguments.value("timeout") {
            guard let milliseconds = DurationText.milliseconds(text) else {
                throw UsageError(
                    "“\(DisplayText.safe(text))” is not a length of time", hint: "Type it like 500ms, 10s or 2m")
            }
            timeoutMilliseconds = milliseconds
        } else {
            timeoutMilliseconds = nil
        }
    }

    /// The connection to the running node, made at the first request.
    var node: NodeClient { client(timeoutMilliseconds: timeoutMilliseconds ?? CommandLimits.answerMilliseconds) }

    /// The same with another time-out, for commands that have their own.
    func client(timeoutMilliseconds: Int) -> NodeClient {
        if let openClient { return openClient }
        let client = NodeClient(
            socketPath: socketPath, timeoutMilliseconds: timeoutMilliseconds, noNodeHint: noNodeHint)
        openClient = client
        return client
    }

    /// What to type when no node runs.
    var noNodeHint: String {
        let home = homeOption.map { " --home " + ShellQuoting.quote($0) } ?? ""
        return homes.exists(homePath)
            ? "Start it with: kith up\(home)" : "Make one with: kith init\(home), then start it with: kith up\(home)"
    }

    /// Asks the node, or works on the home's files when no node runs.
    func withNode<Result>(
        _ ask: (NodeClient) throws -> Result, orHome work: (any LocalHome) throws -> Result
    ) throws -> Result {
        do {
            return try ask(node)
        } catch let error as KithError where error.code == .noNode {
            return try work(try homes.open(homePath))
        }
    }
}
