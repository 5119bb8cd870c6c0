import { Body, Controller, Get, HttpCode, Param, Post, UseFilters } from '@nestjs/common';
import { emailIn, referencesIn } from '../shop/incoming.ts';
import { CheckoutService } from './checkout.service.ts';
import { PaymentsErrorFilter } from './payments-error.filter.ts';

@Controller()
@UseFilters(PaymentsErrorFilter)
export class CheckoutController {
  readonly #checkout: CheckoutService;

  constructor(checkout: CheckoutService) {
    this.#checkout = checkout;
  }

  @Post('orders')
  place() {
    const { id, item, amount, currency } = this.#checkout.place();
    return { id, item, amount, currency };
  }

  /** The browser goes to `checkout_url` from here. */
  @Post('orders/:id/payment')
  pay(@Param('id') id: string, @Body() body: unknown) {
    return this.#checkout.pay(id, emailIn(body));
  }

  /** The page that the customer comes back to asks this until the state is no longer `paying`. */
  @Get('orders/:id/payment')
  async look(@Param('id') id: string) {
    const { state } = await this.#checkout.look(id);
    return { state };
  }

  @Post('webhooks/payments')
  @HttpCode(204)
  hint(@Body() body: unknown): void {
    for (const reference of referencesIn(JSON.stringify(body))) this.#checkout.hint(reference);
  }
}
