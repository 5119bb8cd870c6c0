import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { isChromiumMissing } from './chromium.ts';
import { useBrowser } from './use-browser.ts';

const files = globSync('docs/images/*.svg').toSorted();
const cases = files.flatMap((file) => (['light', 'dark'] as const).map((scheme) => ({ file, scheme })));

describe.skipIf(isChromiumMissing)('in Chromium', () => {
  const open = useBrowser();

  test.each(cases)('$file is legible on a phone, $scheme', async ({ file, scheme }) => {
    const { page, problems } = await open('about:blank', { colorScheme: scheme });
    await page.setContent(`<body style="margin: 16px">${readFileSync(file, 'utf8')}</body>`);
    await page.addStyleTag({ content: 'body > svg { max-width: 100%; height: auto }' });
    expect(await page.evaluate(findIllegible)).toEqual([]);
    expect(problems).toEqual([]);
  });
});

/** Finds texts that are small, faint, outside their box, or over another text. It runs in the page. */
function findIllegible(): string[] {
  const luminance = (color: string) => {
    const channels = (color.match(/[\d.]+/g) ?? []).map(Number);
    const [red = 0, green = 0, blue = 0] = channels.map((value) =>
      value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one: Element, other: Element) => {
    const [a, b] = [luminance(getComputedStyle(one).fill), luminance(getComputedStyle(other).fill)];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
  const place = (element: Element) => element.getBoundingClientRect();
  // The places of two lines can share a pixel or two, where no letter is.
  const overlap = (one: DOMRect, other: DOMRect) =>
    one.left < other.right &&
    other.left < one.right &&
    one.top + 3 < other.bottom &&
    other.top + 3 < one.bottom;
  const contains = (outer: DOMRect, { left, right, top, bottom }: DOMRect) =>
    outer.left + 2 <= left && right <= outer.right - 2 && outer.top <= top && bottom <= outer.bottom;

  const texts = [...document.querySelectorAll('text')];
  const boxes = [...document.querySelectorAll('rect')];
  const scale = place(boxes[0] ?? document.body).width / Number(boxes[0]?.getAttribute('width'));
  return texts.flatMap((text, index) => {
    const rect = place(text);
    // The last box that it touches is the one it is drawn on. The first is the ground.
    const touched = boxes.filter((box) => overlap(place(box), rect)).at(-1);
    const size = scale * Number.parseFloat(getComputedStyle(text).fontSize);
    const problems = [
      size < 9 && `${size.toFixed(1)} px`,
      !(touched && contains(place(touched), rect)) && 'outside its box',
      touched && contrast(text, touched) < 4.5 && `contrast ${contrast(text, touched).toFixed(1)}`,
      texts.slice(index + 1).some((other) => overlap(place(other), rect)) && 'over another text',
    ];
    return problems
      .filter((problem) => problem !== false)
      .map((problem) => `${text.textContent}: ${problem}`);
  });
}
