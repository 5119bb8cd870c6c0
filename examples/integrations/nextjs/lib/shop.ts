import { Shop } from '../../shop/shop.ts';

declare global {
  var shop: Shop | undefined;
}

/**
 * Returns the shop of this process. Next gives each route its own modules, and loads them again when they change. The shop
 * is created at the first request, because `next build` has no API key.
 */
export function getShop(): Shop {
  globalThis.shop ??= new Shop();
  return globalThis.shop;
}
