import { BODY_WIDTH, type Body, round, SMALL, text } from './svg.ts';

/** A label, and below it one bar for each value. */
export interface Bar {
  label: string;
  values: readonly number[];
  /** At the right end of the label's line. */
  note: string;
  isOurs: boolean;
}

const BAR = 9;
const GAP = 3;

/** Draws horizontal bars in the given order. `legend` says what each bar of a row is. */
export function drawBars(rows: readonly Bar[], legend: readonly string[] = []): Body {
  const most = Math.max(...rows.flatMap(({ values }) => values));
  const elements: string[] = [];
  let y = 0;
  for (const [index, name] of legend.entries()) {
    elements.push(
      `<rect class="others" x="0" y="${y}" width="26" height="${BAR}" rx="2"${faded(index)}/>`,
      text(name, { x: 34, y: y + BAR, size: SMALL, color: 'quiet' }),
    );
    y += 18;
  }
  if (legend.length > 0) y += 6;
  for (const { label, values, note, isOurs } of rows) {
    elements.push(
      text(label, { x: 0, y: y + 13, isBold: isOurs }),
      text(note, { x: BODY_WIDTH, y: y + 13, isBold: isOurs, anchor: 'end' }),
    );
    y += 19;
    for (const [index, value] of values.entries()) {
      const width = round(Math.max(2, (BODY_WIDTH * value) / most));
      elements.push(
        `<rect class="${isOurs ? 'ours' : 'others'}" x="0" y="${y}" width="${width}" height="${BAR}" rx="2"${faded(index)}/>`,
      );
      y += BAR + GAP;
    }
    y += 8;
  }
  return { elements: elements.join('\n'), height: y - 8 };
}

const faded = (index: number) => (index === 0 ? '' : ' opacity="0.65"');
