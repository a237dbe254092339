# SPDX-License-Identifier: GPL-2.0-only
"""How kunit.py builds and boots the x86_64 kernel that runs repmov's suites.

For kunit.py's --qemu_config. The kernel has the mitigations that patch
returns; which of them is on is said on its command line
(indirect_target_selection=force). What no suite needs is left out: there is no
PCI, no ACPI and no network, so that the kernel builds and boots sooner.
"""

from ..qemu_config import QemuArchParams

QEMU_ARCH = QemuArchParams(
    linux_arch='x86_64',
    kconfig='''
CONFIG_SMP=y
CONFIG_DEVTMPFS=y
CONFIG_SERIAL_8250=y
CONFIG_SERIAL_8250_CONSOLE=y
CONFIG_CPU_MITIGATIONS=y
CONFIG_MITIGATION_RETPOLINE=y
CONFIG_MITIGATION_RETHUNK=y
CONFIG_MITIGATION_ITS=y
# CONFIG_PCI is not set
# CONFIG_ACPI is not set
# CONFIG_NET is not set
# CONFIG_BLOCK is not set
# CONFIG_INPUT is not set
# CONFIG_VT is not set
# CONFIG_USB_SUPPORT is not set
# CONFIG_VIRTUALIZATION is not set
# CONFIG_SUSPEND is not set
# CONFIG_PM is not set
# CONFIG_HWMON is not set
''',
    qemu_arch='x86_64',
    kernel_path='arch/x86/boot/bzImage',
    kernel_command_line='console=ttyS0 panic=-1',
    extra_qemu_params=['-cpu', 'max'])
