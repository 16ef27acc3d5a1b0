/** What Node 20 lacks and the SDK of Restate uses. Applications on Restate have Node 22. */
Promise.withResolvers ??= function withResolvers() {
  let functions;
  const promise = new Promise((...given) => (functions = given));
  return { promise, resolve: functions[0], reject: functions[1] };
};
