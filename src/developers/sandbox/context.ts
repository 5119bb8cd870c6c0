import type { PaymentControls } from '../mock/controls.ts';
import type { PaymentService } from '../service/service.ts';
import type { Webhooks } from '../service/webhooks.ts';
import type { Access, NormalizedOptions } from './options.ts';
import type { Changes } from './pages/live.ts';

/** What the pages and the API for scripts are made of. */
export interface SandboxContext
  extends Pick<NormalizedOptions, 'allowHosts' | 'allowTestCharges' | 'returnUrl'> {
  readonly service: PaymentService;
  readonly webhooks: Webhooks;
  readonly controls: PaymentControls;
  readonly changes: Changes;
  readonly access: Access;
  /** The address of the sandbox. */
  readonly url: string;
  /** Responds to a request below the base URL. */
  readonly handle: PaymentService['handle'];
}
