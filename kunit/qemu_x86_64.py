# SPDX-License-Identifier: GPL-2.0-only
"""How kunit.py builds and boots the x86_64 kernel that runs repmov's suites.

For kunit.py's --qemu_config. The kernel has the mitigations that patch
returns; which of them is on is said on its command line
(indirect_target_selection=force). What no suite needs is left out: there is no
PCI and no network, so that the kernel builds and boots sooner. ACPI is there
for the timers that only it can find: under emulation the TSC cannot always be
calibrated without them, and the kernel's own clock is jiffies then.
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
CONFIG_ACPI=y
CONFIG_X86_PM_TIMER=y
CONFIG_HPET_TIMER=y
# CONFIG_ACPI_AC is not set
# CONFIG_ACPI_BATTERY is not set
# CONFIG_ACPI_DEBUG is not set
# CONFIG_ACPI_EC is not set
# CONFIG_ACPI_FAN is not set
# CONFIG_ACPI_SPCR_TABLE is not set
# CONFIG_ACPI_TABLE_UPGRADE is not set
# CONFIG_ACPI_THERMAL is not set
# CONFIG_AIO is not set
# CONFIG_BLOCK is not set
# CONFIG_COREDUMP is not set
# CONFIG_FTRACE is not set
# CONFIG_HWMON is not set
# CONFIG_HW_RANDOM is not set
# CONFIG_INPUT is not set
# CONFIG_IOMMU_SUPPORT is not set
# CONFIG_IO_URING is not set
# CONFIG_NET is not set
# CONFIG_PCI is not set
# CONFIG_PM is not set
# CONFIG_RD_BZIP2 is not set
# CONFIG_RD_LZ4 is not set
# CONFIG_RD_LZMA is not set
# CONFIG_RD_LZO is not set
# CONFIG_RD_XZ is not set
# CONFIG_RD_ZSTD is not set
# CONFIG_SCHED_MC_PRIO is not set
# CONFIG_SERIO is not set
# CONFIG_SUSPEND is not set
# CONFIG_USB_SUPPORT is not set
# CONFIG_VIRTUALIZATION is not set
# CONFIG_VT is not set
# CONFIG_X86_MCE is not set
# CONFIG_X86_PLATFORM_DEVICES is not set
''',
    qemu_arch='x86_64',
    kernel_path='arch/x86/boot/bzImage',
    # The timer is there, but on a busy machine it does not come in time for the
    # kernel, which then panics.
    kernel_command_line='console=ttyS0 panic=-1 no_timer_check',
    extra_qemu_params=['-cpu', 'max'])
