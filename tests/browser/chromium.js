// The Chromium of Debian, without a window and without a network but the loopback.
"use strict";
const {chromium} = require("playwright-core");

exports.launch = () => chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]});
