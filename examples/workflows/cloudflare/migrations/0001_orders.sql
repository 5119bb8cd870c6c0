CREATE TABLE orders (
  id TEXT PRIMARY KEY,
  amount TEXT NOT NULL,
  currency TEXT NOT NULL,
  customer_email TEXT NOT NULL,
  phone TEXT NOT NULL,
  network TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'placed'
) STRICT;

CREATE TABLE parcels (number INTEGER PRIMARY KEY, order_id TEXT NOT NULL) STRICT;

-- The parcel is part of the statement that fulfils the order.
CREATE TRIGGER ship AFTER UPDATE OF state ON orders WHEN new.state = 'fulfilled'
BEGIN
  INSERT INTO parcels (order_id) VALUES (new.id);
END;
