import type { OrderStatus } from 'payment-collection-client/orders';
import type { Order } from './orders.ts';

/** Renders the basket. */
export function basketPage(order: Order): string {
  return page('Your basket', renderForms(order));
}

/** Renders how far an order is. While its payment is open, the page reloads: the shop reads its database only. */
export function orderPage(order: Order, status: OrderStatus): string {
  switch (status.state) {
    case 'paid':
      return page('Paid', `<p>Thank you. Your ${escapeHtml(order.item)} is on its way.</p>`);
    case 'unpaid':
      return page('Not paid', `<p>You can pay again.</p>${renderForms(order)}`);
    case 'in_review':
      return messagePage(
        'We are reviewing your payment, and will write to you. Please do not pay again.',
        'In review',
      );
    case 'processing': {
      const { checkout_url: url } = status.payment;
      const text =
        url === undefined
          ? 'Approve the payment on your phone. Please do not pay again.'
          : `We are waiting for your payment. <a href="${escapeHtml(url)}">To the checkout page</a>`;
      return page('Not paid yet', `<p>${text}</p>`, '<meta http-equiv="refresh" content="2">');
    }
  }
}

export function messagePage(message: string, title = 'Payment'): string {
  return page(title, `<p>${escapeHtml(message)}</p>`);
}

/** Renders both ways to pay. */
function renderForms({ id, item, amount, currency }: Order): string {
  const order = `<input type="hidden" name="order" value="${escapeHtml(id)}">`;
  const email = '<label>Email <input type="email" name="customer_email" required></label>';
  return `<p>${escapeHtml(item)}: ${escapeHtml(amount)} ${escapeHtml(currency)}</p>
    <h2>Pay on the checkout page</h2>
    <form method="post" action="/checkout">${order}${email}<button>Pay</button></form>
    <h2>Pay with Mobile Money</h2>
    <form method="post" action="/charge">${order}${email}
      <label>Mobile Money number <input type="tel" name="phone" required></label>
      <label>Network <select name="network">
        <option value="mtn">MTN</option>
        <option value="telecel">Telecel</option>
        <option value="airteltigo">AirtelTigo</option>
      </select></label>
      <button>Pay</button>
    </form>`;
}

const STYLE = `
      body { max-width: 30rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui; color-scheme: light dark }
      label, button { display: block; margin: .75rem 0 }
      input, select { display: block; box-sizing: border-box; width: 100% }
      input, select, button { font: inherit; padding: .4rem .6rem }
    `;

function page(title: string, body: string, head = ''): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>${escapeHtml(title)}</title>
    <style>${STYLE}</style>${head}
  </head>
  <body>
    <h1>${escapeHtml(title)}</h1>
    ${body}
  </body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
