"""The TensorBoard adapter: the only code that knows TensorBoard. This file stays empty of imports, see `entry`."""
