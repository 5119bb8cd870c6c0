import type { OrderStatus } from 'payment-collection-client/orders';
import type { Order } from './orders.ts';
import type { ErrorResponse } from './respond.ts';

/** Renders the basket. `action` is the path of the checkout. */
export function basketPage(order: Order, action = '/checkout'): string {
  return page('Your basket', renderForm(order, action));
}

/** Renders how far an order is for a customer who returned. */
export function orderPage(order: Order, { state }: OrderStatus, action = '/checkout'): string {
  switch (state) {
    case 'paid':
      return page('Paid', `<p>Thank you. Your ${escapeHtml(order.item)} is on its way.</p>`);
    case 'unpaid':
      return page('Not paid', `<p>You can pay again.</p>${renderForm(order, action)}`);
    case 'in_review': {
      const message = 'We are reviewing your payment, and will write to you. Please do not pay again.';
      return page('In review', `<p>${message}</p>`);
    }
    case 'processing': {
      const message = 'We are waiting for your payment. Please do not pay again.';
      // Without the query, which caused a check already.
      return page('Not paid yet', `<p>${message}</p>`, '<meta http-equiv="refresh" content="3; url=?">');
    }
  }
}

/** Renders why a press started no payment. */
export function errorPage({ message, fields }: ErrorResponse): string {
  const items = fields.map(
    ({ field, message: problem }) => `<li>${escapeHtml(field)}: ${escapeHtml(problem)}</li>`,
  );
  return page('Payment', `<p>${escapeHtml(message)}</p><ul>${items.join('')}</ul>`);
}

function renderForm({ id, item, amount, currency }: Order, action: string): string {
  return `<p>${escapeHtml(item)}: ${escapeHtml(amount)} ${escapeHtml(currency)}</p>
    <form method="post" action="${escapeHtml(action)}">
      <input type="hidden" name="order" value="${escapeHtml(id)}">
      <label>Email <input type="email" name="customer_email" required></label>
      <button>Pay</button>
    </form>`;
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
