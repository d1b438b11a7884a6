"""The orders of a shop and queries of its owner as SQL, for sqlite3.

All values are integers or text, and every result has an order without ties. Results are therefore identical in all versions
from 3.25, the first with window functions.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import IO

from splitmix import SplitMix64
from words import make_vocabulary

CITIES = 60
CATEGORIES = 24
DAYS = 720
ROWS_PER_INSERT = 25

TABLES = """\
CREATE TABLE category (id INTEGER PRIMARY KEY, parent INTEGER, name TEXT NOT NULL);
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL, referred_by INTEGER);
CREATE TABLE product (
  id INTEGER PRIMARY KEY, category INTEGER NOT NULL, name TEXT NOT NULL, price INTEGER NOT NULL, sold INTEGER NOT NULL DEFAULT 0);
CREATE TABLE purchase (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL, day INTEGER NOT NULL, note TEXT);
CREATE TABLE item (
  purchase INTEGER NOT NULL, product INTEGER NOT NULL, quantity INTEGER NOT NULL, price INTEGER NOT NULL,
  PRIMARY KEY (purchase, product)) WITHOUT ROWID;
CREATE TRIGGER item_sold AFTER INSERT ON item BEGIN
  UPDATE product SET sold = sold + new.quantity WHERE id = new.product;
END;
"""

INDEXES = """\
CREATE INDEX purchase_by_customer ON purchase (customer, day);
CREATE INDEX purchase_by_day ON purchase (day);
CREATE INDEX item_by_product ON item (product, purchase);
CREATE INDEX product_by_category ON product (category, price);
CREATE INDEX customer_by_city ON customer (city);
ANALYZE;
"""

#: queries that run once
WHOLE = """\
SELECT 'rows', (SELECT count(*) FROM customer), (SELECT count(*) FROM product), (SELECT count(*) FROM purchase),
  (SELECT count(*) FROM item);
SELECT 'city', c.city, count(DISTINCT c.id), count(DISTINCT p.id), sum(i.quantity * i.price) AS revenue
  FROM customer c JOIN purchase p ON p.customer = c.id JOIN item i ON i.purchase = p.id
  GROUP BY c.city ORDER BY revenue DESC, c.city;
WITH RECURSIVE tree (id, top, path) AS (
    SELECT id, id, name FROM category WHERE parent IS NULL
    UNION ALL SELECT c.id, t.top, t.path || '/' || c.name FROM category c JOIN tree t ON c.parent = t.id)
  SELECT 'category', t.path, count(*), sum(i.quantity), sum(i.quantity * i.price)
  FROM tree t JOIN product r ON r.category = t.id JOIN item i ON i.product = r.id GROUP BY t.id ORDER BY t.path;
WITH RECURSIVE chain (id, depth) AS (
    SELECT id, 0 FROM customer WHERE referred_by IS NULL
    UNION ALL SELECT c.id, chain.depth + 1 FROM chain JOIN customer c ON c.referred_by = chain.id)
  SELECT 'referred', depth, count(*) FROM chain GROUP BY depth ORDER BY depth;
SELECT 'together', x.product, y.product, count(*) AS times
  FROM item x JOIN item y ON y.purchase = x.purchase AND y.product > x.product
  GROUP BY x.product, y.product ORDER BY times DESC, x.product, y.product LIMIT 20;
WITH gap AS (
    SELECT customer, day - lag(day) OVER (PARTITION BY customer ORDER BY day, id) AS days FROM purchase)
  SELECT 'gap', days / 30, count(*), max(customer) FROM gap WHERE days IS NOT NULL GROUP BY days / 30 ORDER BY days / 30;
WITH spent AS (
    SELECT p.customer, p.day, sum(i.quantity * i.price) AS amount FROM purchase p JOIN item i ON i.purchase = p.id GROUP BY p.id),
  running AS (
    SELECT customer, day, amount, sum(amount) OVER (PARTITION BY customer ORDER BY day, amount) AS total,
      row_number() OVER (PARTITION BY customer ORDER BY amount DESC, day) AS place FROM spent)
  SELECT 'running', customer, max(total), sum(CASE WHEN place <= 3 THEN amount ELSE 0 END) FROM running
  GROUP BY customer ORDER BY max(total) DESC, customer LIMIT 15;
WITH ranked AS (
    SELECT id, category, price, sold, rank() OVER (PARTITION BY category ORDER BY sold DESC, id) AS place,
      ntile(4) OVER (ORDER BY price, id) AS quarter FROM product)
  SELECT 'best', r.category, r.id, r.sold, r.quarter FROM ranked r WHERE place <= 2 ORDER BY r.category, r.place;
SELECT 'words', upper(substr(note, 1, 3)), count(*), sum(length(note)), sum(instr(note, 'er') > 0) FROM purchase
  WHERE note IS NOT NULL GROUP BY upper(substr(note, 1, 3)) ORDER BY count(*) DESC, upper(substr(note, 1, 3)) LIMIT 20;
"""

#: queries at the end, after the changes
LAST = """\
SELECT 'sold', sum(sold), sum(price), max(sold * 1000000 + id) FROM product;
SELECT 'kept', count(*), sum(quantity * price), sum(product * 31 + purchase) FROM item;
SELECT 'lonely', count(*), min(id), max(id) FROM customer c
  WHERE NOT EXISTS (SELECT 1 FROM purchase p WHERE p.customer = c.id);
PRAGMA integrity_check;
"""


def inserts(table: str, rows: Iterable[str]) -> Iterator[str]:
    """Yield INSERT statements with several rows each."""
    kept: list[str] = []
    for row in rows:
        kept.append(row)
        if len(kept) == ROWS_PER_INSERT:
            yield f"INSERT INTO {table} VALUES\n" + ",\n".join(kept) + ";\n"
            kept.clear()
    if kept:
        yield f"INSERT INTO {table} VALUES\n" + ",\n".join(kept) + ";\n"


def month(first: int, city: str, pattern: str) -> str:
    """Return the queries about 30 days."""
    days = f"p.day BETWEEN {first} AND {first + 29}"
    return (
        f"SELECT 'month {first}', r.category, c.city = '{city}', count(*), sum(i.quantity * i.price)\n"
        "  FROM purchase p JOIN customer c ON c.id = p.customer JOIN item i ON i.purchase = p.id JOIN product r ON r.id = i.product\n"
        f"  WHERE {days} GROUP BY r.category, c.city = '{city}' ORDER BY r.category, c.city = '{city}';\n"
        f"SELECT 'noted {first}', count(*), sum(p.id) FROM purchase p WHERE {days} AND p.note LIKE '%{pattern}%';\n"
        f"WITH daily AS (SELECT p.day, sum(i.quantity * i.price) AS amount FROM purchase p JOIN item i ON i.purchase = p.id\n"
        f"    WHERE {days} GROUP BY p.day)\n"
        f"  SELECT 'week {first}', day, sum(amount) OVER (ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) FROM daily\n"
        "  ORDER BY day LIMIT 5 OFFSET 6;\n"
        f"SELECT 'first {first}', count(*) FROM purchase p WHERE {days} AND NOT EXISTS\n"
        "  (SELECT 1 FROM purchase q WHERE q.customer = p.customer AND q.day < p.day);\n"
    )


def lookups(random: SplitMix64, customers: int, count: int) -> Iterator[str]:
    """Yield queries about one customer each."""
    for _ in range(count):
        yield (
            "SELECT c.id, c.city, count(DISTINCT p.id), coalesce(sum(i.quantity), 0) FROM customer c\n"
            "  LEFT JOIN purchase p ON p.customer = c.id LEFT JOIN item i ON i.purchase = p.id\n"
            f"  WHERE c.id = {random.between(1, customers)} GROUP BY c.id;\n"
        )


def changes(random: SplitMix64, orders: int) -> Iterator[str]:
    """Yield transactions that change prices, cancel orders and enter a new order."""
    for number in range(min(2000, max(4, orders // 400))):
        taken_back = random.between(1, orders)
        yield (
            "BEGIN;\n"
            f"UPDATE product SET price = price + price / {random.between(8, 40)} WHERE category = {random.between(1, CATEGORIES)};\n"
            f"UPDATE product SET sold = sold - (SELECT quantity FROM item WHERE purchase = {taken_back} AND product = product.id)\n"
            f"  WHERE id IN (SELECT product FROM item WHERE purchase = {taken_back});\n"
            f"DELETE FROM item WHERE purchase = {taken_back};\n"
            f"INSERT INTO purchase VALUES ({orders + 1 + number}, 1, {DAYS}, NULL);\n"
            f"INSERT INTO item SELECT {orders + 1 + number}, id, 1, price FROM product WHERE category = {random.between(1, CATEGORIES)}\n"
            "  ORDER BY price, id LIMIT 3;\n"
            f"{'ROLLBACK' if number % 7 == 6 else 'COMMIT'};\n"
        )


def write_sql(random: SplitMix64, options: argparse.Namespace, out: IO[str]) -> None:
    """Write a script about `options.orders` orders of one to six items."""
    orders = options.orders
    words = make_vocabulary(random, 1500)
    customers, products = max(10, orders // 4), max(30, orders // 40)
    cities = [random.choose(words).capitalize() + "ton" for _ in range(CITIES)]
    out.write(TABLES + "BEGIN;\n")
    out.writelines(
        inserts(
            "category", (f"({n}, {n // 3 or 'NULL'}, '{words[200 + n]}')" for n in range(1, CATEGORIES + 1))
        )
    )
    rows = (
        f"({n}, '{random.choose(words)} {random.choose(words)}', '{random.choose(cities)}', "
        f"{random.between(1, n - 1) if n > 1 and random.below(3) else 'NULL'})"
        for n in range(1, customers + 1)
    )
    out.writelines(inserts("customer", rows))
    prices = [random.between(99, 20000) for _ in range(products)]
    rows = (
        f"({n}, {random.between(1, CATEGORIES)}, '{random.choose(words)} {random.choose(words)}', {prices[n - 1]}, 0)"
        for n in range(1, products + 1)
    )
    out.writelines(inserts("product", rows))
    for first in range(1, orders + 1, ROWS_PER_INSERT):
        bought: list[str] = []
        made: list[str] = []
        for number in range(first, min(first + ROWS_PER_INSERT, orders + 1)):
            note = " ".join(random.choose(words) for _ in range(random.between(2, 9)))
            written = f"'{note}'" if random.below(3) == 0 else "NULL"
            made.append(f"({number}, {random.between(1, customers)}, {random.below(DAYS)}, {written})")
            # Mostly a popular product: low numbers are popular.
            taken = {random.below(1 + random.below(products)) for _ in range(random.between(1, 6))}
            bought += (f"({number}, {p + 1}, {random.between(1, 4)}, {prices[p]})" for p in sorted(taken))
        out.writelines(inserts("purchase", made))
        out.writelines(inserts("item", bought))
    out.write("COMMIT;\n" + INDEXES + WHOLE)
    for start in range(0, DAYS, 30):
        out.write(month(start, random.choose(cities), random.choose(words)))
    out.writelines(lookups(random, customers, orders // 20))
    out.writelines(changes(random, orders))
    out.write(LAST)
