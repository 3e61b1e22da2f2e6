// Makes the calls that clients/conformance/run asks for, one a line, by the fetch of Node. Argument: json, proto or get.
import readline from "node:readline";
import { Caller } from "./calls.js";

const caller = new Caller(process.argv[2]);
for await (const line of readline.createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await caller.answer(JSON.parse(line))) + "\n");
}
