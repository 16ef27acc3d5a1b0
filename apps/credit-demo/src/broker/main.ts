import { MqttBroker } from './mqtt-broker.js';

/** The broker's process: MQTT_FOLDER holds what it has to keep; MQTT_PORT is where it listens, 0 for any free port. */
const broker = await MqttBroker.listen(process.env.MQTT_FOLDER!, Number(process.env.MQTT_PORT ?? 0));
const url = `mqtt://127.0.0.1:${broker.port}`;
if (!process.send?.({ url })) console.log(`The broker listens at ${url}`);
for (const event of ['SIGTERM', 'SIGINT', 'disconnect'])
  process.once(event, () => void broker.close().finally(() => process.exit(0)));
