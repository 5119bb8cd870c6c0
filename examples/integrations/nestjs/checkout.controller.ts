import { Body, Controller, Get, HttpCode, NotFoundException, Param, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import type { Order } from '../shop/orders.ts';
import { readEmail } from '../shop/parse-request.ts';
import { respondToPress } from '../shop/respond.ts';
import { Shop } from '../shop/shop.ts';

@Controller()
export class CheckoutController {
  readonly #shop: Shop;

  constructor(shop: Shop) {
    this.#shop = shop;
  }

  @Post('orders')
  place(): Order {
    return this.#shop.orders.place('Kente scarf', '25.50');
  }

  /** Starts one payment at most, and returns where the browser goes. */
  @Post('orders/:id/payment')
  async pay(
    @Param('id') id: string,
    @Body() body: unknown,
    @Res({ passthrough: true }) response: Response,
  ): Promise<object> {
    const { amount, currency } = this.#find(id);
    const input = { amount, currency, customer_email: readEmail(body) };
    const next = await respondToPress(this.#shop.orderPayments.checkout(id, input), `/orders/${id}`);
    if ('url' in next) return next;
    const { status, headers, ...problem } = next;
    response.status(status).set(headers);
    return problem;
  }

  /** The page to which the customer returns polls this. */
  @Get('orders/:id/payment')
  async read(@Param('id') id: string) {
    const { state, canPay } = await this.#shop.orderPayments.read(this.#find(id).id);
    return { state, canPay };
  }

  @Post('webhooks/payments')
  @HttpCode(204)
  async notify(@Body() body: unknown): Promise<void> {
    await this.#shop.orderPayments.notify(body);
  }

  #find(id: string): Order {
    const order = this.#shop.orders.find(id);
    if (!order) throw new NotFoundException();
    return order;
  }
}
