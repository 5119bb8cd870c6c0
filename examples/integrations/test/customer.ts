import { Browser, type Page, readOrderId } from './browser.ts';

/** The paths of a shop. */
export interface Paths {
  readonly checkout: string;
  readonly returnPath: string;
  readonly webhook: string;
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
    this.order = readOrderId(await this.#order);
    return this.#browser.post(this.#paths.checkout, {
      order: this.order,
      customer_email: EMAIL,
      ...fields,
    });
  }

  returns(query = ''): Promise<Page> {
    return this.#browser.get(this.#paths.returnPath + query);
  }
}
