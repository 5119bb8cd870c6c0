// node bench/plots/draw.ts: draws every picture of docs/images again. It measures nothing.
import { pictures } from './pictures.ts';
import { writePicture } from './svg.ts';

for (const picture of pictures) writePicture(picture);
