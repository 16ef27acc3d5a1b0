/** `é` becomes `\\u00e9`: each unit of UTF-16 as in JSON and YAML. */
export function unicodeEscape(text: string): string {
  return text
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
