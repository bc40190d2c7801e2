// The meshes that are simulated. Whoever needs another one draws it here.

extension Topology {
    /// All of them.
    public static let all: [Topology] = [
        draw(
            "pair",
            #"""
            0---1
            """#),
        draw(
            "line of three",
            #"""
            0---1---2
            """#),
        draw(
            "triangle",
            #"""
              0
             / \
            1---2
            """#),
        draw(
            "line of five",
            #"""
            3---1---0---2---4
            """#),
        draw(
            "star",
            #"""
                1
                |
            4---0---2
                |
                3
            """#),
        draw(
            "ring",
            #"""
            0---1
            |   |
            4   2
             \ /
              3
            """#),
        draw(
            "square with diagonals",
            #"""
            0---1
            |\ /|
            | X |
            |/ \|
            3---2
            """#),
        draw(
            "two islands joined by one node",
            #"""
            0---1       5---6
             \ /         \ /
              2-----3-----4
            """#),
        draw(
            "ladder",
            #"""
            0---1---2---3
            |   |   |   |
            4---5---6---7
            """#),
        draw(
            "tree",
            #"""
                  0
                 / \
                1   2
               /|   |\
              3 4   5 6
            """#),
        draw(
            "full mesh of five",
            #"""
            0   1
             \ /
              #---2
             / \
            3   4
            """#),
        draw(
            "two switches and a long way round",
            #"""
            0   1       5   6
             \ /         \ /
              #---2---4---#
             /             \
            3---------------7
            """#),
        draw(
            "full mesh of ten",
            #"""
            0 1 2 3 4
            | | | | |
            #########
            | | | | |
            5 6 7 8 9
            """#),
    ]

    /// The one of this name.
    public static func named(_ name: String) -> Topology {
        guard let topology = all.first(where: { $0.name == name }) else { fatalError("There is no topology \(name)") }
        return topology
    }

    private static func draw(_ name: String, _ drawing: String) -> Topology {
        do {
            return try Topology(name, drawing: drawing)
        } catch {
            fatalError("The drawing \(name) is wrong: \(error)")
        }
    }
}
