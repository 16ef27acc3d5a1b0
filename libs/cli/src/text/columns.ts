import { uncolored } from './style.js';

/** Rows as lines, each column as wide as its widest cell; the last one is not filled up. A cell cannot begin a line. */
export function columns(written: readonly (readonly string[])[], gap = '  '): string[] {
  const rows = written.map((row) => row.map((cell) => cell.replace(/[\s\u0085]/g, ' ')));
  const widths: number[] = [];
  for (const row of rows)
    row.forEach((cell, place) => (widths[place] = Math.max(widths[place] ?? 0, widthOf(cell))));
  return rows.map((row) =>
    row
      .map((cell, place) =>
        place === row.length - 1 ? cell : cell + ' '.repeat(widths[place]! - widthOf(cell)),
      )
      .join(gap)
      .trimEnd(),
  );
}

/** A line that fits; undefined: there is room for all of it. */
export function fitted(line: string, width: number | undefined): string {
  if (width === undefined || widthOf(line) <= width) return line;
  return `${uncolored(line).slice(0, Math.max(0, width - 1))}…`;
}

/** Without the codes of colors. */
function widthOf(text: string): number {
  return uncolored(text).length;
}
