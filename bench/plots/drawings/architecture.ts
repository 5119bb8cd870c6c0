import { floors } from '../../../test/helpers/floors.ts';
import { box } from '../diagram.ts';
import { BODY_WIDTH, type Body, type Picture } from '../svg.ts';

/** From one floor to the next, in pixels. */
const STEP = 56;

/** The floors of src, the highest one first. They are the list that the imports are checked against, so no line can be wrong. */
function drawFloors(): Body {
  const elements = floors.toReversed().map(({ parts, about }, index) =>
    box({
      x: 0,
      y: STEP * index,
      width: BODY_WIDTH,
      titles: [parts.join(', ')],
      lines: [about],
      kind: /^(?:developers|node)/.test(parts.join()) ? 'end' : 'step',
    }),
  );
  return { elements: elements.join('\n'), height: STEP * floors.length };
}

export const architecture: Picture = {
  name: 'architecture',
  title: 'The parts of src',
  subtitle: 'A part imports only what is beside or below it.',
  body: drawFloors(),
};
