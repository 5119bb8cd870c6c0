import type { Answer } from './answers.ts';
import type { Order } from './orders.ts';

/** While the payment is open, the page asks again by itself. */
const ASK_AGAIN = '<meta http-equiv="refresh" content="3">';

/** The basket: `action` is the path of the checkout. */
export function basketPage({ id, item, amount, currency }: Order, action = '/checkout'): string {
  return page(
    'Your basket',
    `<p>${escaped(item)}: ${escaped(amount)} ${escaped(currency)}</p>
    <form method="post" action="${escaped(action)}">
      <input type="hidden" name="order" value="${escaped(id)}">
      <label>Email <input type="email" name="customer_email" required></label>
      <button>Pay</button>
    </form>`,
  );
}

/** How the order stands, for a customer who came back. */
export function orderPage(order: Order): string {
  switch (order.state) {
    case 'paid':
      return page('Paid', `<p>Thank you. Your ${escaped(order.item)} is on its way.</p>`);
    case 'not_paid':
      return page('Not paid', '<p>You were not charged. <a href="/">Order again</a></p>');
    case 'in_review':
      return page(
        'In review',
        '<p>We are looking into your payment, and will write to you. Please do not pay again.</p>',
      );
    default:
      return page(
        'Not paid yet',
        '<p>We are waiting for your payment. Please do not pay again.</p>',
        ASK_AGAIN,
      );
  }
}

/** What went wrong. `asksAgain` where the same page may know more in a moment. */
export function answerPage({ message, fields }: Answer, asksAgain = false): string {
  const faults = fields.map(({ field, message: fault }) => `<li>${escaped(field)}: ${escaped(fault)}</li>`);
  return page('Payment', `<p>${escaped(message)}</p><ul>${faults.join('')}</ul>`, asksAgain ? ASK_AGAIN : '');
}

function page(title: string, body: string, head = ''): string {
  return `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>${title}</title>${head}</head>
  <body><h1>${title}</h1>${body}</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
