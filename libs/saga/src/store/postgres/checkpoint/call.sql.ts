/** `$3, $4, $5`: so many parameters from this one on. */
export const parameterList = (first: number, count: number): string =>
  Array.from({ length: count }, (_, n) => `$${first + n}`).join(', ');

/** The call of one of our functions, with so many arguments. */
export const callSql = (schema: string, name: string, args: number): string =>
  `${schema}.${name}(${parameterList(1, args)})`;
