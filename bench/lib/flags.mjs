/** --name=value and --name as an object; what looks like a number is one. */
export const flagsOf = (argv) =>
  Object.fromEntries(
    argv.map((arg) => {
      const [name, value] = arg.replace(/^--/, '').split('=');
      return [name, value === undefined ? true : isNaN(Number(value)) ? value : Number(value)];
    }),
  );
