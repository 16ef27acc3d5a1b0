/** Shows the order whose URL it has, until the order has ended. */
export const LIVE_ORDER_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>Your order</title>
</head>
<body>
<main>
<h1>Your order</h1>
<p role="status" id="state">connecting</p>
<ul id="steps" aria-label="Steps"></ul>
</main>
<script>
  const [state, steps] = [document.querySelector('#state'), document.querySelector('#steps')];
  const events = new EventSource('events');
  events.onmessage = ({ data }) => {
    const order = JSON.parse(data);
    state.textContent = order.state;
    steps.replaceChildren(
      ...order.steps.map(({ name, status }) => {
        const item = document.createElement('li');
        item.textContent = name + ': ' + status;
        return item;
      }),
    );
    // The response ends with the order. An EventSource that is not closed connects again.
    if (order.final) events.close();
  };
</script>
</body>
</html>
`;
