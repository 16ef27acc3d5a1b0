const COLOURS = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
export type Colour = keyof typeof COLOURS;

const coloured = process.stdout.isTTY && !process.env.NO_COLOR;

/** Colours are for eyes: files and pipes get plain text. */
export function paint(colour: Colour, text: string): string {
  return coloured ? `\u001b[${COLOURS[colour]}m${text}\u001b[0m` : text;
}

export function title(text: string): void {
  console.log(`\n${paint('bold', text)}`);
}

/** Something that the player did, or saw. */
export function narrate(text: string): void {
  console.log(`   ${paint('cyan', '>')} ${text}`);
}

export function euros(cents: number): string {
  return (cents / 100).toFixed(2);
}

/** Ids are long, and their first part tells them apart here. */
export function short(id: string): string {
  return id.slice(0, 8);
}
