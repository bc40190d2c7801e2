/// A word for each pair of digits. Short, known to most, and different in their first three letters, so that one that is
/// misheard is noticed. The order is part of the protocol: both screens must show the same.
enum ComparisonWords {
    static let all = [
        "acorn", "amber", "anchor", "apple", "arrow", "autumn", "badge", "bamboo", "basket", "beach",
        "bishop", "blanket", "bottle", "bridge", "bucket", "button", "cabin", "camel", "candle", "castle",
        "cherry", "circle", "clover", "coffee", "copper", "cotton", "cradle", "crystal", "dancer", "desert",
        "diamond", "dolphin", "dragon", "eagle", "echo", "elbow", "engine", "falcon", "feather", "fiddle",
        "flower", "forest", "garden", "ginger", "glacier", "goblet", "guitar", "hammer", "harbor", "helmet",
        "honey", "island", "ivory", "jacket", "jungle", "kettle", "kitten", "ladder", "lemon", "lizard",
        "magnet", "maple", "meadow", "mirror", "monkey", "mustard", "needle", "nickel", "ocean", "olive",
        "orchid", "oyster", "paddle", "pebble", "pepper", "pilot", "planet", "pocket", "puzzle", "quarry",
        "rabbit", "ribbon", "river", "rocket", "saddle", "scarf", "silver", "spider", "stone", "summer",
        "tablet", "temple", "thunder", "tiger", "tulip", "velvet", "violin", "walnut", "window", "zebra",
    ]
}
