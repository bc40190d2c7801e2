import KithSimulation
import Testing

@Suite("Drawings of meshes")
struct TopologyTests {
    private static func edges(_ drawing: String) throws -> [String] {
        try Topology("test", drawing: drawing).edges.map { "\($0.first)-\($0.second)" }
    }

    @Test("lines link nodes: straight, diagonal, round corners and across each other")
    func lines() throws {
        #expect(try Self.edges("0---1-2") == ["0-1", "1-2"])
        #expect(
            try Self.edges(
                #"""
                0---1
                 \ /|
                  X |
                 / \|
                2   3
                """#) == ["0-1", "0-3", "1-2", "1-3"])
        #expect(
            try Self.edges(
                """
                +---0
                |   |
                1   2
                """) == ["0-1", "0-2"])
    }

    @Test("a switch links all that are at it")
    func switches() throws {
        #expect(
            try Self.edges(
                """
                0 1
                | |
                ####--2
                 |
                 3
                """) == ["0-1", "0-2", "0-3", "1-2", "1-3", "2-3"])
        #expect(Topology.named("full mesh of five").edges.count == 10)
        #expect(Topology.named("full mesh of ten").edges.count == 45)
    }

    @Test("the meshes that are simulated have from 2 to 10 nodes, and are all different")
    func allOfThem() {
        let all = Topology.all
        #expect(all.map(\.nodeCount).min() == 2)
        #expect(all.map(\.nodeCount).max() == 10)
        #expect(Set(all.map(\.name)).count == all.count)
        #expect(Set(all.map(\.edges)).count == all.count)
        #expect(
            Topology.named("two islands joined by one node").edges.map { [$0.first, $0.second] } == [
                [0, 1], [0, 2], [1, 2], [2, 3], [3, 4], [4, 5], [4, 6], [5, 6],
            ])
    }

    @Test(
        "a drawing that is wrong is refused",
        arguments: [
            "", "0", "0---", "0---1  2", "0---2", "0-1-1", "0=1", "0--|--1", "+-0\n| |\n+-+", "0-+-1\n  |\n  2",
        ])
    func refuses(drawing: String) {
        #expect(throws: Topology.DrawingError.self) { try Topology("test", drawing: drawing) }
    }
}
