import { getShop } from '../lib/shop.ts';

// Each customer has another basket.
export const dynamic = 'force-dynamic';

export default function Basket() {
  const { id, item, amount, currency } = getShop().orders.place('Kente scarf', '25.50');
  return (
    <main>
      <h1>Your basket</h1>
      <p>
        {item}: {amount} {currency}
      </p>
      <form method="post" action="/api/checkout">
        <input type="hidden" name="order" value={id} />
        <label>
          Email <input type="email" name="customer_email" required />
        </label>
        <button type="submit">Pay</button>
      </form>
    </main>
  );
}
