/** The call of one of our functions, with so many arguments. */
export const callSql = (schema: string, name: string, args: number): string =>
  `${schema}.${name}(${Array.from({ length: args }, (_, n) => `$${n + 1}`).join(', ')})`;
