/** A time as people write it: an ISO date as a Date; anything else, such as `2h`, stays as it is for the call to check. */
export function givenTime(text: unknown): unknown {
  if (typeof text !== 'string' || !/^[+-]?\d{4,6}-\d\d/.test(text)) return text;
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? text : date;
}
