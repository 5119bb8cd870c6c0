/** The fields of a form, as a schema describes them: rendered, read, and shown once they are filled in. */

import { html } from 'hono/html';
import type { Html } from '../../../ui/markup.ts';
import {
  type FieldInput,
  fieldInputs,
  type forgedFieldsSchema,
  type KindSchema,
} from '../../service/faults.ts';
import type { Form } from '../request.ts';

type FieldsSchema = KindSchema | typeof forgedFieldsSchema;

export function renderOptions(names: Readonly<Record<string, string>>, selected = ''): Html[] {
  return Object.entries(names).map(
    ([value, name]) =>
      html`<option value="${value}"${value === selected ? html` selected` : ''}>${name}</option>`,
  );
}

/** Renders the fields, each with `prefix` before its name. */
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
      return html`<label class="${className}">${label} <select name="${name}">${renderOptions(choices ?? {}, initial)}</select></label>`;
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
export function readFields(fields: FieldsSchema, form: Form, prefix = ''): Record<string, unknown> {
  const given = listInputs(fields).flatMap(([name, { type }]): [string, unknown][] => {
    const value = form[prefix + name];
    if (typeof value !== 'string' || value === '') return [];
    if (type === 'seconds') return [[name, Number(value) * 1000]];
    if (type === 'number') return [[name, Number(value)]];
    return [[name, type === 'flag' ? value === 'yes' : value]];
  });
  return Object.fromEntries(given);
}

/** Describes the values of the fields, without those that say nothing. */
export function describeFields(fields: FieldsSchema, values: Readonly<Record<string, unknown>>): string[] {
  return listInputs(fields).flatMap(([name, input]) => describeValue(name, input, values[name]));
}

function describeValue(name: string, { label, type, initial }: FieldInput, value: unknown): string[] {
  if (value === undefined || value === false) return [];
  if (type === 'flag') return [label.toLowerCase()];
  if (type === 'seconds') return [`${Number(value) / 1000} s`];
  const shown = typeof value === 'object' ? 'an object' : String(value);
  return [initial === undefined ? `${name} ${shown}` : shown];
}
