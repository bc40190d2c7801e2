/// Follows the lines of a drawing: see `Topology`.
struct DrawingReader {
    struct Place: Hashable {
        var row: Int
        var column: Int

        func moved(by step: Step) -> Place { Place(row: row + step.rows, column: column + step.columns) }
    }

    struct Step: Hashable {
        let rows: Int
        let columns: Int

        static let all = [-1, 0, 1].flatMap { rows in [-1, 0, 1].map { Step(rows: rows, columns: $0) } }
            .filter { $0 != Step(rows: 0, columns: 0) }

        static let left = Step(rows: 0, columns: -1)

        /// The sign of a line that goes this way.
        var line: UInt8 {
            if rows == 0 { return UInt8(ascii: "-") }
            if columns == 0 { return UInt8(ascii: "|") }
            return UInt8(ascii: rows == columns ? "\\" : "/")
        }

        var isDiagonal: Bool { rows != 0 && columns != 0 }
        var back: Step { Step(rows: -rows, columns: -columns) }
    }

    enum LineEnd {
        case node(Int)
        /// A switch.
        case hub(Place)
    }

    private let rows: [[UInt8]]

    init(_ drawing: String) {
        rows = drawing.split(separator: "\n", omittingEmptySubsequences: false).map { Array($0.utf8) }
    }

    private subscript(_ place: Place) -> UInt8 {
        guard rows.indices.contains(place.row), rows[place.row].indices.contains(place.column) else {
            return UInt8(ascii: " ")
        }
        return rows[place.row][place.column]
    }

    private func digit(at place: Place) -> Int? {
        let sign = self[place]
        return sign >= UInt8(ascii: "0") && sign <= UInt8(ascii: "9") ? Int(sign - UInt8(ascii: "0")) : nil
    }

    /// All nodes with their places, in order.
    func nodes() throws(Topology.DrawingError) -> [(node: Int, place: Place)] {
        var nodes: [(node: Int, place: Place)] = []
        for (row, line) in rows.enumerated() {
            for (column, sign) in line.enumerated() {
                let place = Place(row: row, column: column)
                if let node = digit(at: place) { nodes.append((node, place)) }
                guard digit(at: place) != nil || Array(" -|/\\+X#".utf8).contains(sign) else {
                    throw Topology.DrawingError(description: "row \(row), column \(column) has an unknown sign")
                }
            }
        }
        nodes.sort { $0.node < $1.node }
        guard nodes.map(\.node) == Array(0..<nodes.count), nodes.count > 1 else {
            throw Topology.DrawingError(description: "the nodes are not 0, 1, … but \(nodes.map(\.node))")
        }
        return nodes
    }

    /// Where the lines lead that begin at a node.
    func lineEnds(from place: Place) throws(Topology.DrawingError) -> [LineEnd] {
        var ends: [LineEnd] = []
        for step in Step.all where self[place.moved(by: step)] == step.line { ends.append(try follow(place, step)) }
        return ends
    }

    private func follow(_ start: Place, _ first: Step) throws(Topology.DrawingError) -> LineEnd {
        var step = first
        var place = start.moved(by: step)
        while true {
            let sign = self[place]
            if let node = digit(at: place) { return .node(node) }
            switch sign {
            case UInt8(ascii: "#"):
                // A long one is one switch, known by its left end.
                while self[place.moved(by: .left)] == sign { place = place.moved(by: .left) }
                return .hub(place)
            case step.line: break
            case UInt8(ascii: "X") where step.isDiagonal: break
            case UInt8(ascii: "+"):
                let ways = Step.all.filter { $0 != step.back && self[place.moved(by: $0)] == $0.line }
                guard ways.count == 1 else {
                    throw Topology.DrawingError(
                        description:
                            "the corner in row \(place.row), column \(place.column) leads to \(ways.count) lines")
                }
                step = ways[0]
            default:
                throw Topology.DrawingError(
                    description: "a line ends in row \(place.row), column \(place.column), where nothing is")
            }
            place = place.moved(by: step)
        }
    }
}
