import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { findFaintTexts } from './faint-texts.ts';

/** Up to this width a page is used by touch. */
const MAX_PHONE_WIDTH = 480;

/** Checks that a page fits its width, that its texts are legible, and that its controls have labels and can be hit. */
export async function checkView(page: Page, width: number): Promise<void> {
  await page.locator('details').evaluateAll((all) => {
    for (const details of all) details.setAttribute('open', '');
  });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
  const cut = await page
    .locator('.rows > li, .card, .prompt, .requests > li, .attempts > li')
    .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).map(({ id }) => id));
  expect(cut).toEqual([]);
  expect(await page.evaluate(findFaintTexts)).toEqual([]);
  const small = await page
    .locator('button, summary, .action, nav a, select, input:not([type=hidden], [type=checkbox])')
    .filter({ visible: true })
    .evaluateAll(
      (all, least) =>
        all
          .map((one) => ({ one, height: one.getBoundingClientRect().height }))
          .filter(({ height }) => height < least)
          .map(({ one, height }) => `${one.outerHTML.slice(0, 80)}: ${height}`),
      width <= MAX_PHONE_WIDTH ? 44 : 30,
    );
  expect(small).toEqual([]);
  const fields = page.locator('input:not([type=hidden]), select').filter({ visible: true });
  const labels = await fields.evaluateAll((all) =>
    all.map((field) => document.querySelector(`label[for="${field.id}"]`) ?? field.closest('label')),
  );
  expect(labels).not.toContain(null);
}
