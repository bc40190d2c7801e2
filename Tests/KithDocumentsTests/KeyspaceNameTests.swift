import KithDocuments
import Testing

@Suite("Names of collections with their database")
struct KeyspaceNameTests {
    @Test("a name without a dot is the default collection, and each has one spelling")
    func spellings() throws {
        for (text, database, collection, spelled) in [
            ("notes", "notes", "_default", "notes"), ("notes._default", "notes", "_default", "notes"),
            ("notes.orders", "notes", "orders", "notes.orders"),
            ("notes._default.orders", "notes", "orders", "notes.orders"),
            ("a/b.Shop.orders-2", "a/b", "Shop.orders-2", "a/b.Shop.orders-2"),
        ] {
            let name = try KeyspaceName(text)
            #expect(name.database.text == database)
            #expect(name.collection.text == collection)
            #expect(name.text == spelled)
            #expect(try KeyspaceName(spelled) == name)
        }
    }

    @Test(
        "what breaks the rule of either is refused",
        arguments: [
            "", ".", "notes.", ".orders", "Notes.orders", "notes.a.b.c", "notes._private", "notes.a/b", "notes..a",
        ])
    func illegal(text: String) {
        let error = #expect(throws: KithError.self) { () throws in try KeyspaceName(text) }
        #expect(error?.code == .badName)
    }
}
