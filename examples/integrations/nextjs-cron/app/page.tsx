import { getShop } from '../lib/shop.ts';

// Each customer has another basket.
export const dynamic = 'force-dynamic';

export default async function Basket() {
  const { id, item, amount, currency } = await getShop().orders.place('Kente scarf', '25.50');
  return (
    <main>
      <h1>Your basket</h1>
      <p>
        {item}: {amount} {currency}
      </p>
      <form method="post" action="/api/charge">
        <input type="hidden" name="order" value={id} />
        <label>
          Email <input type="email" name="customer_email" required />
        </label>
        <label>
          Mobile Money number <input type="tel" name="phone" required />
        </label>
        <label>
          Network{' '}
          <select name="network">
            <option value="mtn">MTN</option>
            <option value="telecel">Telecel</option>
            <option value="airteltigo">AirtelTigo</option>
          </select>
        </label>
        <button type="submit">Pay</button>
      </form>
    </main>
  );
}
