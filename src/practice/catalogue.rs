//! The products and orders of the shop: generated, and the same on every start.

pub const PRODUCTS_PER_PAGE: usize = 12;
pub const ORDERS_PER_PAGE: usize = 10;
const ORDER_COUNT: u32 = 30;
/// A call of `POST /switch/prices` changes every tenth price.
const PRICE_STEPS: u32 = 10;

#[derive(Clone)]
pub struct Product {
    pub id: u32,
    pub name: String,
    pub category: &'static str,
    pub price_cents: u32,
    pub badge: Option<&'static str>,
    pub rating_tenths: u32,
    pub reviews: u32,
    pub stock: u32,
    pub specifications: Vec<(&'static str, String)>,
}

pub struct ShopOrder {
    pub number: String,
    pub date: String,
    pub customer: String,
    pub total_cents: u32,
    pub status: &'static str,
}

/// Six categories with eight products each: 48 products.
pub const CATEGORIES: [(&str, [&str; 8]); 6] = [
    (
        "Kitchen",
        ["Kettle", "Toaster", "Hand Mixer", "Coffee Grinder", "Bread Knife", "Salad Bowl", "Egg Timer", "Scale"],
    ),
    ("Garden", ["Rake", "Watering Can", "Hose Reel", "Pruner", "Wheelbarrow", "Seed Tray", "Bird House", "Trowel"]),
    (
        "Office",
        ["Desk Lamp", "Stapler", "Paper Tray", "Wall Clock", "Notebook", "Pen Holder", "Monitor Arm", "Shredder"],
    ),
    ("Travel", ["Backpack", "Suitcase", "Neck Pillow", "Wash Bag", "Flask", "Umbrella", "Tent", "Head Torch"]),
    ("Sound", ["Headphones", "Radio", "Turntable", "Speaker", "Microphone", "Amplifier", "Tuner", "Sound Bar"]),
    ("Toys", ["Kite", "Marble Run", "Puzzle", "Wooden Train", "Spinning Top", "Yo-yo", "Dominoes", "Building Blocks"]),
];
const MAKERS: [&str; 9] = ["Alba", "Brook & Son", "Corvo", "Delft", "Elm", "Fjord", "Garonne", "Hollin", "Ister"];
const COLOURS: [&str; 7] = ["black", "white", "oak", "sea green", "brick red", "steel", "navy"];
const FIRST_NAMES: [&str; 7] = ["Anna", "Björn", "Chloé", "Dmitri", "Emeka", "Fatima", "Grace"];
const LAST_NAMES: [&str; 8] = ["Berg", "O'Hara", "Lindqvist", "Moreau", "Tanaka", "Silva", "Novák", "Haddad"];
const STATUSES: [&str; 4] = ["Paid", "Shipped", "Delivered", "Cancelled"];

/// All products; `price_calls` is how often prices have been changed.
pub fn products(price_calls: u32) -> Vec<Product> {
    let things = CATEGORIES.iter().flat_map(|(category, things)| things.iter().map(move |thing| (*category, *thing)));
    let mut all: Vec<Product> =
        (1..).zip(things).map(|(id, (category, thing))| product(id, category, thing, price_calls)).collect();
    // Mixed, so that a page of the list has several categories.
    all.sort_by_key(|product| (mix(product.id, 7), product.id));
    all
}

fn product(id: u32, category: &'static str, thing: &str, price_calls: u32) -> Product {
    let maker = MAKERS[pick(id, 1, MAKERS.len())];
    let model = 100 + mix(id, 2) % 800;
    Product {
        id,
        name: format!("{maker} {thing} {model}"),
        category,
        price_cents: price(id, price_calls),
        badge: match mix(id, 3) % 6 {
            0 => Some("Sale"),
            1 => Some("New"),
            _ => None,
        },
        rating_tenths: 28 + mix(id, 4) % 23,
        reviews: 1 + mix(id, 5) % 240,
        stock: if mix(id, 6).is_multiple_of(8) { 0 } else { 1 + mix(id, 8) % 40 },
        specifications: vec![
            ("Maker", maker.to_owned()),
            ("Model", model.to_string()),
            ("Colour", COLOURS[pick(id, 9, COLOURS.len())].to_owned()),
            ("Weight", format!("{} g", 80 + mix(id, 10) % 4_000)),
            ("Size", format!("{} × {} × {} cm", 4 + mix(id, 11) % 60, 3 + mix(id, 12) % 40, 2 + mix(id, 13) % 30)),
            ("Warranty", format!("{} years", 1 + mix(id, 14) % 5)),
        ],
    }
}

/// The n-th call changes the prices of the products whose number ends like n, by up to 15 % of the first price.
fn price(id: u32, calls: u32) -> u32 {
    let first = 490 + mix(id, 15) % 180 * 100 + mix(id, 16) % 10 * 10;
    let moved = calls / PRICE_STEPS + u32::from(calls % PRICE_STEPS > (id + PRICE_STEPS - 1) % PRICE_STEPS);
    if moved == 0 { first } else { first + first * (1 + mix(id, 100 + moved) % 15) / 100 }
}

pub fn orders() -> Vec<ShopOrder> {
    (1..=ORDER_COUNT)
        .map(|n| ShopOrder {
            number: format!("PR-{}", 10_400 + n * 7),
            date: format!("2026-{:02}-{:02}", 12 - (n - 1) / 3, 1 + mix(n, 20) % 28),
            customer: format!(
                "{} {}",
                FIRST_NAMES[pick(n, 21, FIRST_NAMES.len())],
                LAST_NAMES[pick(n, 22, LAST_NAMES.len())]
            ),
            total_cents: 1_200 + mix(n, 23) % 40_000,
            status: STATUSES[pick(n, 24, STATUSES.len())],
        })
        .collect()
}

/// `1234567` cents as `€ 12,345.67`.
pub fn money(cents: u32) -> String {
    let (whole, rest) = (cents / 100, cents % 100);
    if whole < 1_000 {
        format!("€ {whole}.{rest:02}")
    } else {
        format!("€ {},{:03}.{rest:02}", whole / 1_000, whole % 1_000)
    }
}

fn pick(n: u32, salt: u32, len: usize) -> usize {
    mix(n, salt) as usize % len
}

/// A deterministic pseudo-random number (the finaliser of MurmurHash3).
fn mix(n: u32, salt: u32) -> u32 {
    let mut h = n.wrapping_mul(0x9e37_79b9) ^ salt.wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shop_has_48_products_and_30_orders_with_names_of_their_own() {
        let mut names: Vec<String> = products(0).into_iter().map(|product| product.name).collect();
        assert_eq!(names.len(), 48);
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 48);
        assert_eq!(orders().len(), 30);
    }

    #[test]
    fn each_call_moves_a_tenth_of_the_prices() {
        let prices = |calls| products(calls).into_iter().map(|product| product.price_cents).collect::<Vec<u32>>();
        for calls in 0..25 {
            let moved = prices(calls).iter().zip(prices(calls + 1)).filter(|(a, b)| **a != *b).count();
            assert!((3..=5).contains(&moved), "call {calls} moved {moved}");
        }
    }
}
