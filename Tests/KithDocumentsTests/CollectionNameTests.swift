import KithDocuments
import Testing

@Suite("Names of collections")
struct CollectionNameTests {
    @Test("legal names keep their spelling, and the scope _default is left out")
    func legal() throws {
        #expect(try CollectionName("orders").text == "orders")
        #expect(try CollectionName("_default.orders").text == "orders")
        #expect(try CollectionName("shop.Orders-2%_").text == "shop.Orders-2%_")
        #expect(try CollectionName("_default") == .default)
        #expect(try CollectionName("_default._default") == .default)
        #expect(try CollectionName(String(repeating: "a", count: 251)).text.utf8.count == 251)
        #expect(try CollectionName("Orders") != CollectionName("orders"))
    }

    @Test(
        "others are refused",
        arguments: [
            "", ".", "a.", ".a", "a.b.c", "_a", "%a", "a._b", "_shop.a", "shop._default", "a b", "é", "a/b", "a\0b",
            String(repeating: "a", count: 252), "_default.",
        ])
    func illegal(text: String) {
        #expect(throws: KithError.self) { try CollectionName(text) }
    }
}
