import type { ErrorResponse } from './error-response.ts';
import type { Order } from './orders.ts';

/** Reloads the page while the payment is open. */
const REFRESH = '<meta http-equiv="refresh" content="3">';

/** Renders the basket. `action` is the path of the checkout. */
export function basketPage({ id, item, amount, currency }: Order, action = '/checkout'): string {
  return page(
    'Your basket',
    `<p>${escapeHtml(item)}: ${escapeHtml(amount)} ${escapeHtml(currency)}</p>
    <form method="post" action="${escapeHtml(action)}">
      <input type="hidden" name="order" value="${escapeHtml(id)}">
      <label>Email <input type="email" name="customer_email" required></label>
      <button>Pay</button>
    </form>`,
  );
}

/** Renders the state of an order for a customer who returned. */
export function orderPage(order: Order): string {
  switch (order.state) {
    case 'paid':
      return page('Paid', `<p>Thank you. Your ${escapeHtml(order.item)} is on its way.</p>`);
    case 'not_paid':
      return page('Not paid', '<p>The payment did not succeed. <a href="/">Order again</a></p>');
    case 'in_review':
      return page(
        'In review',
        '<p>We are reviewing your payment, and will write to you. Please do not pay again.</p>',
      );
    default:
      return page(
        'Not paid yet',
        '<p>We are waiting for your payment. Please do not pay again.</p>',
        REFRESH,
      );
  }
}

/** Renders an error. With `isRefreshed` the page reloads, because the next check might succeed. */
export function errorPage({ message, fields }: ErrorResponse, isRefreshed = false): string {
  const items = fields.map(
    ({ field, message: problem }) => `<li>${escapeHtml(field)}: ${escapeHtml(problem)}</li>`,
  );
  return page(
    'Payment',
    `<p>${escapeHtml(message)}</p><ul>${items.join('')}</ul>`,
    isRefreshed ? REFRESH : '',
  );
}

function page(title: string, body: string, head = ''): string {
  return `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>${title}</title>${head}</head>
  <body><h1>${title}</h1>${body}</body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
