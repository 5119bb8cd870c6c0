import { createShop, type Shop } from '../../shop/shop.ts';

declare global {
  var shop: Shop | undefined;
}

/**
 * One for the process: Next gives each route modules of its own, and loads them again when they change. It is made at
 * the first request, since `next build` has no API key.
 */
export function theShop(): Shop {
  globalThis.shop ??= createShop();
  return globalThis.shop;
}
