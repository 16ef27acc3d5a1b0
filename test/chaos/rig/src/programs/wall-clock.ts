/** Loaded before everything else. From now on the test can shift the wall clock of this process. */
const RealDate = Date;
let shift = 0;

globalThis.Date = new Proxy(RealDate, {
  construct: (date, args, newTarget) =>
    Reflect.construct(date, args.length === 0 ? [date.now() + shift] : args, newTarget) as Date,
  apply: (date) => new date(date.now() + shift).toString(),
  get: (date, key) => (key === 'now' ? () => date.now() + shift : (Reflect.get(date, key) as unknown)),
});

process.on('message', (message: { type?: string; by?: number }) => {
  if (message.type === 'shift-clock') shift = message.by ?? 0;
});
