/** Finds texts whose contrast is below 4.5 to 1 (WCAG, level AA). It runs in the page. */
export function findFaintTexts(): string[] {
  const channels = (color: string) => (color.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = (color: string) => {
    const [red = 0, green = 0, blue = 0] = channels(color).map((value) =>
      value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ground = (element: Element | null): string | null => {
    if (!element) return 'rgb(255, 255, 255)';
    const { backgroundColor, backgroundImage } = getComputedStyle(element);
    // The contrast on a gradient cannot be computed.
    if (backgroundImage !== 'none') return null;
    const [, , , alpha = 1] = channels(backgroundColor);
    return alpha === 1 ? backgroundColor : ground(element.parentElement);
  };
  return [...document.body.querySelectorAll('*')].flatMap((element) => {
    const text = [...element.childNodes]
      .filter(({ nodeType }) => nodeType === Node.TEXT_NODE)
      .map(({ textContent }) => textContent?.trim() ?? '')
      .join('');
    const behind = ground(element);
    if (text === '' || behind === null || element.getBoundingClientRect().height === 0) return [];
    const [one, other] = [luminance(getComputedStyle(element).color), luminance(behind)];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    return contrast < 4.5 ? [`${text}: ${contrast.toFixed(2)}`] : [];
  });
}
