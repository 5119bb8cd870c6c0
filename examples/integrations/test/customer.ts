import { Browser, orderOn, type Page } from './browser.ts';

/** Where a shop does what. */
export interface Paths {
  readonly checkout: string;
  readonly comeBack: string;
  /** `null` where the example takes none. */
  readonly webhook: string | null;
}

export const EMAIL = 'ama.serwaa@example.com';

/** One customer of the shop, with the basket of one order. */
export class Customer {
  readonly #browser: Browser;
  readonly #paths: Paths;
  #order: Promise<Page> | undefined;
  order = '';

  constructor(url: string, paths: Paths) {
    this.#browser = new Browser(url);
    this.#paths = paths;
  }

  async pays(fields: Record<string, string> = {}): Promise<Page> {
    this.#order ??= this.#browser.get('/');
    this.order = orderOn(await this.#order);
    return this.#browser.post(this.#paths.checkout, {
      order: this.order,
      customer_email: EMAIL,
      ...fields,
    });
  }

  comesBack(query = ''): Promise<Page> {
    return this.#browser.get(this.#paths.comeBack + query);
  }
}
