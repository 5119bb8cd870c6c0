import { html } from 'hono/html';
import type { Html } from '../../../ui/markup.ts';
import type { Queued } from '../../service/fault-queue.ts';
import {
  type FieldInput,
  faultLabels,
  faultSchema,
  fieldInputs,
  type forgedFieldsSchema,
  type KindSchema,
  listKinds,
  operationNames,
  webhookFaultSchema,
} from '../../service/faults.ts';

type FaultSchema = typeof faultSchema | typeof webhookFaultSchema;
type FieldsSchema = KindSchema | typeof forgedFieldsSchema;

export function renderOptions(names: Readonly<Record<string, string>>, selected: string): Html[] {
  return Object.entries(names).map(
    ([value, name]) =>
      html`<option value="${value}"${value === selected ? html` selected` : ''}>${name}</option>`,
  );
}

function describeKind(kind: KindSchema): string {
  const { label = '' } = faultLabels.get(kind) ?? {};
  return `${label.charAt(0).toUpperCase()}${label.slice(1)}`;
}

/** Returns the name of a fault, as marks and lists show it, and what it does where the name does not say it. */
function splitLabel(schema: FaultSchema, kind: string): string[] {
  const fields = listKinds(schema).get(kind);
  return (fields && faultLabels.get(fields)?.label.split(': ')) ?? [kind];
}

export function nameFault(schema: FaultSchema, kind: string): string {
  return splitLabel(schema, kind)[0] ?? kind;
}

/** The rule of the style sheet that shows the fields of the selected fault. */
export const shownFieldsRule = `${[faultSchema, webhookFaultSchema]
  .flatMap((schema) => [...listKinds(schema).keys()])
  .map((kind) => `.fields:has(option[value=${kind}]:checked) .of.${kind}`)
  .join(',\n')} { display: grid; }\n`;

/** Renders the fields of one fault, each with `prefix` before its name. */
export function renderFields(fields: FieldsSchema, prefix = '', className = ''): Html[] {
  return listInputs(fields).map(([name, input]) => renderField(prefix + name, input, className));
}

function listInputs({ shape }: FieldsSchema): [string, FieldInput][] {
  return Object.entries(shape).flatMap(([name, schema]) => {
    const input = fieldInputs.get(schema);
    return input ? [[name, input]] : [];
  });
}

function renderField(name: string, { label, type, initial, choices }: FieldInput, className: string): Html {
  switch (type) {
    case 'flag':
      return html`<label class="${className} tick"><input name="${name}" type="checkbox" value="yes"> ${label}</label>`;
    case 'choice':
      return html`<label class="${className}">${label} <select name="${name}">${renderOptions(choices ?? {}, initial ?? '')}</select></label>`;
    case 'number':
    case 'seconds':
      return html`<label class="${className}">${label} <input name="${name}" type="number" min="0" max="86400" value="${initial ?? ''}" required></label>`;
    case 'text': {
      const more =
        initial === undefined ? html` placeholder="unchanged"` : html` value="${initial}" required`;
      return html`<label class="${className}">${label} <input name="${name}" maxlength="255" autocomplete="off"${more}></label>`;
    }
  }
}

/** Reads what {@link renderFields} sends. A field that is empty is left out. */
export function readFields(
  fields: FieldsSchema,
  form: Readonly<Record<string, unknown>>,
  prefix = '',
): Record<string, unknown> {
  const given = listInputs(fields).flatMap(([name, { type }]): [string, unknown][] => {
    const value = form[prefix + name];
    if (typeof value !== 'string' || value === '') return [];
    if (type === 'seconds') return [[name, Number(value) * 1000]];
    if (type === 'number') return [[name, Number(value)]];
    return [[name, type === 'flag' ? value === 'yes' : value]];
  });
  return Object.fromEntries(given);
}

/** Reads what {@link renderFaultForm} sends. The service checks it. */
export function readFault(schema: FaultSchema, form: Readonly<Record<string, unknown>>): unknown {
  const fields = listKinds(schema).get(String(form.kind));
  return { kind: form.kind, ...(fields && readFields(fields, form, `${form.kind}.`)) };
}

/** Reads how often a fault is to happen. The service checks it. */
export function readTimes({ times }: Readonly<Record<string, unknown>>): number {
  return times === 'always' ? Number.POSITIVE_INFINITY : Number(times);
}

/** Where the form of a fault is sent. */
type FaultPath = '/faults' | '/webhooks/faults';

/** Renders the faults that the next requests or webhooks will meet, and the button that stops them. */
export function renderQueue(
  path: FaultPath,
  schema: FaultSchema,
  queued: readonly Queued<{ readonly operation?: string; readonly fault: { readonly kind: string } }>[],
): Html {
  if (queued.length === 0) return html`<div id="queued-faults"><p>No fault is queued.</p></div>`;
  const items = queued.map(({ operation, fault, remaining }) => {
    const times = remaining === Number.POSITIVE_INFINITY ? 'until stopped' : `${remaining} remaining`;
    const what = describeFault(schema, fault);
    return operation
      ? html`<li><b>${operation}</b>, ${times}: ${what}</li>`
      : html`<li><b>${what}</b>, ${times}</li>`;
  });
  return html`<div id="queued-faults" class="queue">
<ul>${items}</ul>
<form method="post" action="${path}/stop" data-stay><button>Stop all faults</button></form>
</div>`;
}

/** Describes a fault: its name, and its values or what it does. */
function describeFault(schema: FaultSchema, fault: { readonly kind: string }): string {
  const fields = listKinds(schema).get(fault.kind);
  const given: Readonly<Record<string, unknown>> = { ...fault };
  const values = fields
    ? listInputs(fields).flatMap(([field, input]) => describeValue(field, input, given[field]))
    : [];
  const [name, ...detail] = splitLabel(schema, fault.kind);
  return [name, ...(values.length > 0 ? [values.join(', ')] : detail)].join(': ');
}

function describeValue(name: string, { label, type, initial }: FieldInput, value: unknown): string[] {
  if (value === undefined || value === false) return [];
  if (type === 'flag') return [label.toLowerCase()];
  if (type === 'seconds') return [`${Number(value) / 1000} s`];
  const shown = typeof value === 'object' ? 'an object' : String(value);
  return [initial === undefined ? `${name} ${shown}` : shown];
}

const operations = Object.fromEntries(operationNames.map((name) => [name, name]));
const repeats = { 1: 'once', 3: '3 times', 10: '10 times', always: 'until stopped' };

/** Renders the form that orders a fault for the next requests or webhooks. The style sheet shows the fields of the selected one. */
export function renderFaultForm(path: FaultPath, schema: FaultSchema): Html {
  const kinds = [...listKinds(schema)];
  const names = Object.fromEntries(kinds.map(([kind, fields]) => [kind, describeKind(fields)]));
  return html`<form method="post" action="${path}" class="fields" data-stay>
${path === '/faults' ? html`<label>Operation <select name="operation">${renderOptions(operations, 'verify')}</select></label>` : ''}
<label>Fault <select name="kind">${renderOptions(names, kinds[0]?.[0] ?? '')}</select></label>
${kinds.map(([kind, fields]) => renderFields(fields, `${kind}.`, `of ${kind}`))}
<label>Repeat <select name="times">${renderOptions(repeats, '1')}</select></label>
<button class="primary">Inject</button>
</form>`;
}
