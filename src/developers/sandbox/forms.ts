/** The forms of the pages that a request of the API for scripts stands for: each is that request, and leads back to its page. */

import type { Hono } from 'hono';
import { forgedFieldsSchema } from '../service/faults.ts';
import { faultKinds } from './pages/fault-panel.ts';
import { readFields } from './pages/form-fields.ts';
import { type Env, type Form, parseForm } from './request.ts';
import type { ScriptRoutes } from './script-routes.ts';

interface FormRequest {
  readonly request: keyof ScriptRoutes;
  readonly fields?: object;
  readonly back: string;
}

const forms: Readonly<Record<string, (form: Form) => FormRequest>> = {
  '/faults': (form) => ({
    request: 'POST /faults',
    fields: { operation: form.operation, ...readFault(form) },
    back: '/#faults',
  }),
  '/faults/stop': () => ({ request: 'DELETE /faults', back: '/#faults' }),
  '/webhooks/faults': (form) => ({
    request: 'POST /webhooks/faults',
    fields: readFault(form),
    back: '/webhooks#faults',
  }),
  '/webhooks/faults/stop': () => ({ request: 'DELETE /webhooks/faults', back: '/webhooks#faults' }),
  '/webhooks/receiver': ({ url }) => {
    const fields = { url: url === '' ? null : url };
    return { request: 'PUT /webhooks/receiver', fields, back: '/webhooks#receiver' };
  },
  '/webhooks/send': (form) => {
    const forged = form.forged === 'yes' ? readForged(form) : undefined;
    return { request: 'POST /webhooks', fields: { reference: form.about, forged }, back: '/webhooks' };
  },
  '/webhooks/flush': () => ({ request: 'POST /webhooks/flush', back: '/webhooks' }),
  '/time': ({ minutes, back }) => {
    const fields = { milliseconds: Number(minutes) * 60_000 };
    return { request: 'POST /advance', fields, back: back === '/webhooks' ? '/webhooks#time' : '/#time' };
  },
};

export function addForms(app: Hono<Env>, routes: ScriptRoutes): void {
  for (const [path, read] of Object.entries(forms)) {
    app.post(path, async (c) => {
      const { request, fields = {}, back } = read(await parseForm(c));
      // Not awaited: a slow receiver must not hold up the page, which shows each delivery as it ends.
      void routes[request].run(fields, 'form');
      return c.redirect(back, 303);
    });
  }
}

function readFault({ kind, times, ...form }: Form): object {
  const fields = faultKinds.get(String(kind));
  return {
    fault: { kind, ...(fields && readFields(fields, form, `${kind}.`)) },
    times: times === 'always' ? times : Number(times),
  };
}

/** Without a field it claims a success. */
function readForged(form: Form): object {
  const fields = readFields(forgedFieldsSchema, form);
  return Object.keys(fields).length > 0 ? fields : { status: 'success' };
}
